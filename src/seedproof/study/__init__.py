"""The object that composes the flow: plan, run, measure."""
