"""What some plugins count about placed pods, and nobody else needs: kept from when one asks for it."""
