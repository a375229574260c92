"""The audit: a line of trials on one's own model and explainers, and one verdict for each explainer."""
