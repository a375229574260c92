"""Language models: what they answer from a question and passages."""
