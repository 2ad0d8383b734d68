# mutants.awk - every change of one operator or constant in the files given, a line each:
#     FILE@LINE@COLUMN@FROM@TO
# Comments, preprocessor lines, texts, assertions and messages are left alone, and so is how much is computed at once, which
# changes memory and time but no result. Operators are known by the blanks around them,
# which clang-format puts around those with two sides and no others.
BEGIN {
    n = split(" + : - ; - : + ; * : / ; / : * ; < : <= ; <= : < ; > : >= ; >= : > ; == : != ; != : == ; && : || ; || : && ; += : -= ; -= : += ", rules, ";")
    for (i = 1; i <= n; i++) { split(rules[i], pair, ":"); from[i] = " " trim(pair[1]) " "; to[i] = " " trim(pair[2]) " " }
}
function trim(s) { gsub(/ /, "", s); return s }
FNR == 1 { comment = 0 }
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
    if (code ~ /^[ ]*#/ || code ~ /assert|fail\(|tape_fail|OPT_|static const|_Static|chunks_rows|size_t numbers|enum \{|^const|^extern/ || before ~ /fail\($/) { before = code; next }
    before = code
    for (r = 1; r <= n; r++) {
        at = 0; rest = code
        while ((k = index(rest, from[r])) > 0) {
            at += k
            printf "%s@%d@%d@%s@%s\n", FILENAME, FNR, at, from[r], to[r]
            rest = substr(code, at + 1)
        }
    }
    at = 0; rest = code
    while (match(rest, /[^A-Za-z_0-9.][012][^A-Za-z_0-9.]/)) {
        digit = substr(rest, RSTART + 1, 1)
        printf "%s@%d@%d@%s@%s\n", FILENAME, FNR, at + RSTART + 1, digit, digit + 1
        at += RSTART; rest = substr(code, at + 1)
    }
    at = 0; rest = code
    while (match(rest, /(true|false)/)) {
        word = substr(rest, RSTART, RLENGTH)
        printf "%s@%d@%d@%s@%s\n", FILENAME, FNR, at + RSTART, word, word == "true" ? "false" : "true"
        at += RSTART; rest = substr(code, at + 1)
    }
}
