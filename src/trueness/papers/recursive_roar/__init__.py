"""Recursive ROAR (Madsen et al. 2022): mask what is called important, train again; does performance fall?"""
