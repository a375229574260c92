"""Audits of models of which the right explanation is known: how often is a verdict right, and which metric tells?"""
