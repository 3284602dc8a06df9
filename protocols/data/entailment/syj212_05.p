% Problem  : syj212_05
% Status   : Theorem
% Status (intuit.) : Non-Theorem
fof(con,conjecture,( (((((~~a1 <=> a2) <=> a3) <=> a4) <=> a5) <=> (a5 <=> (a4 <=> (a3 <=> (a2 <=> a1))))) )).
