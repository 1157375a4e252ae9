"""What this process answers to others: health, metrics and the configuration, over HTTPS, to those who may ask."""
