% Problem  : syj206_01
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( (a1 <=> a1) )).
