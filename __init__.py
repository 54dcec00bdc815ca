"""rollgraph.

Which steps of these rollouts mattered, and did training learn from them?
"""
