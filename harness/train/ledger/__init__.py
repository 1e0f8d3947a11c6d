"""Where H on the frozen probe went since the last evaluation: signal, noise, remedies, states."""
