"""AtteFa (2022) and the four tests of Wiegreffe and Pinter (2019): can a twin predict the same but attend elsewhere?"""
