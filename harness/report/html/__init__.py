"""The report as one HTML file: content is chosen and laid out, then rendered by templates."""
