"""Do explanation methods agree (Order in the Court 2022)? All pairs, several measures, against chance and noise.

Agreement is not validity: two methods may agree and both be wrong about the model.
"""
