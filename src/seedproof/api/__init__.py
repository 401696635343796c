"""The use cases: measure, compare, compare versions, gate, plan, blame."""
