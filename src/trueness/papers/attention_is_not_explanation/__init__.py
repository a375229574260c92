"""Attention is not Explanation (Jain and Wallace 2019): does attention agree with gradients, and could it differ?"""
