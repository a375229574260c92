"""Language models behind the questions that explainers ask."""
