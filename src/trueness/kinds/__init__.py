"""What sort of input a model reads: one folder a kind, and the only place that knows it."""
