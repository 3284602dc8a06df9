% Problem  : syj206_02
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ((a1 <=> a2) <=> (a2 <=> a1)) )).
