"""The report as one HTML file: what is shown, chosen and laid out, then rendered by templates."""
