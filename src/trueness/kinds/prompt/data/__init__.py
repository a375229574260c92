"""Prompts as data: questions, passages, answers, and prompts as batches of tokens."""
