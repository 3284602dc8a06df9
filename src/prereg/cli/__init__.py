"""The command line: parse, call, draw.  Only here anything is printed and an exit code chosen."""
