"""*Measuring and Mitigating Local Instability in Deep Neural Networks* (Findings of ACL 2023)."""
