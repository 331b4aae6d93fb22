"""The programs of `cases.md` as records: program, arguments, what is differentiated, right answer, origin."""
