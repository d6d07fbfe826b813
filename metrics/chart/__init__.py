"""CHART-Infographics: reading charts, from the class of the chart to its data."""
