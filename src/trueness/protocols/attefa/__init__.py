"""Could another model predict the same while attending elsewhere? AtteFa (2022) and Wiegreffe and Pinter (2019)."""
