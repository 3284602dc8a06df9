"""What a study brings along: collectors, engines, families of problems."""
