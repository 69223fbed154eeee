"""Puts the three hooks into an agent's own configuration, and takes them out again (task pointer §6).

scripts   the two scripts that agents call          jsonfile  JSON read strictly, written as it was
agents    which file each agent reads, its types    merge     our groups in and out of a parsed file
plan      a change: shown first, then written       backups   what a file was, and back to it
trust     Codex's review of hooks                   doctor    what is installed, and will it run
"""
