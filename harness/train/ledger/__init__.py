"""Attribution of the change of H on the frozen probe since the last evaluation: signal, noise,
remedies, states.
"""
