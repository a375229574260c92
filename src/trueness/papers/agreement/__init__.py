"""Order in the Court (2022): do explanation methods agree with one another?"""
