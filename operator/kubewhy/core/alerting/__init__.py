"""From an alert source's message to the Investigations it asks for. Pure: it follows from the text alone."""
