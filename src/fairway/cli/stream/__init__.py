"""The commands of the stream: following decisions, and scheduler-sniffer's protocol and logs."""
