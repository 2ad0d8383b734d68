# mutants.awk - every change of one operator or constant in the files given, a line each:
#     FILE@LINE@COLUMN@FROM@TO
# Left alone are comments, preprocessor lines, texts, assertions, messages and tables of options, and what changes no result:
#   - how much is computed at once (chunks_rows, `numbers`, functions NAME_numbers): memory and time;
#   - more memory than is needed where some is taken (less is tried: the sanitizers see it);
#   - x < y against x <= y behind a line's own x != y, in orders for qsort, of which the sign alone counts;
#   - the size of attributes that an op does not have (node_new(..., NULL, 0)).
# Operators are known by the blanks around them, which clang-format puts around those with two sides and no others.
BEGIN {
    n = split(" + : - ; - : + ; * : / ; / : * ; < : <= ; <= : < ; > : >= ; >= : > ; == : != ; != : == ; && : || ; || : && ; += : -= ; -= : += ", rules, ";")
    for (i = 1; i <= n; i++) { split(rules[i], pair, ":"); from[i] = " " trim(pair[1]) " "; to[i] = " " trim(pair[2]) " " }
}
function trim(s) { gsub(/ /, "", s); return s }
function tell(at, old, new) {
    if (taking && (new ~ /^ [+*] $/ || new ~ /^[0-9]/)) return
    if (ordering && (old ~ /^ [<>] $/ || (old == "1" && substr(code, at - 2) ~ /^(\? -1 : 1|: 1);|^ -1 : 1;/))) return
    if (old == "0" && substr(code, 1, at) ~ /node_new\(.*, NULL, 0$/) return
    printf "%s@%d@%d@%s@%s\n", FILENAME, FNR, at, old, new
}
FNR == 1 { comment = 0; counting = 0; telling = 0 }
{
    line = $0
    code = ""
    for (i = 1; i <= length(line); i++) { # blanks out what is no code, so that columns stay
        two = substr(line, i, 2); c = substr(line, i, 1)
        if (comment) { if (two == "*/") { comment = 0; code = code "  "; i++ } else code = code " "; continue }
        if (two == "/*") { comment = 1; code = code "  "; i++; continue }
        if (c == "\"" || c == "'") {
            quote = c; code = code "~"
            for (i++; i <= length(line) && substr(line, i, 1) != quote; i++) { if (substr(line, i, 1) == "\\") { i++; code = code "~" } code = code "~" }
            code = code "~"; continue
        }
        code = code c
    }
    if (code ~ /^}/) counting = 0
    if (code ~ /^(static )?size_t ([a-z]+_numbers|chunks_rows)\(/) counting = 1
    if (counting) next
    telling = telling && !told
    told = code ~ /;[ ]*$/
    if (code ~ /fail\(/) telling = 1 # up to the end of the statement
    if (telling || code ~ /^[ ]*#/ || code ~ /assert|OPT_|static const|_Static|chunks_rows|size_t numbers|enum \{|^const|^extern/) next
    taking = code ~ /tape_host\(|alloc\(|host_zeros\(/
    ordering = code ~ /if \(.* != .*\) return .* [<>] .* \? -1 : 1;/
    for (r = 1; r <= n; r++) {
        at = 0; rest = code
        while ((k = index(rest, from[r])) > 0) {
            at += k
            tell(at, from[r], to[r])
            rest = substr(code, at + 1)
        }
    }
    at = 0; rest = code
    while (match(rest, /[^A-Za-z_0-9.][012][^A-Za-z_0-9.]/)) {
        digit = substr(rest, RSTART + 1, 1)
        tell(at + RSTART + 1, digit, digit + 1)
        at += RSTART; rest = substr(code, at + 1)
    }
    at = 0; rest = code
    while (match(rest, /(true|false)/)) {
        word = substr(rest, RSTART, RLENGTH)
        tell(at + RSTART, word, word == "true" ? "false" : "true")
        at += RSTART; rest = substr(code, at + 1)
    }
}
