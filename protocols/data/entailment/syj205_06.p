% Problem  : syj205_06
% Status   : Theorem
% Status (intuit.) : Theorem
fof(con,conjecture,( ((((a0 => f) & (((b6 => b0) => a6) & (((b0 => a1) => a0) & (((b1 => a2) => a1) & (((b2 => a3) => a2) & (((b3 => a4) => a3) & (((b4 => a5) => a4) & ((b5 => a6) => a5)))))))) => f) & ((((b5 => a6) => a5) & (((b4 => a5) => a4) & (((b3 => a4) => a3) & (((b2 => a3) => a2) & (((b1 => a2) => a1) & (((b0 => a1) => a0) & (((b6 => b0) => a6) & (a0 => f)))))))) => f)) )).
