"""What people make of explanations, blind: plausibility, which is not faithfulness, and stands beside it."""
