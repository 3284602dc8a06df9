% Problem  : syj212_03
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( (((~~a1 <=> a2) <=> a3) <=> (a3 <=> (a2 <=> a1))) )).
