# spelled.awk - every use of centra in blocks marked sh, as lines `PAGE:LINE COMMAND OPTION`, with - for none, for book.sh.
function look(text,    words, n, i, command) {
    sub(/(^|[ \t])#.*/, "", text)
    n = split(text, words, /[ \t]+/)
    for (i = 1; i <= n; i++) {
        if (words[i] ~ /^(\||;|&&|;?done|do)$/) { command = ""; continue }
        if (words[i] ~ /^(build\/)?centra$/ && words[i + 1] ~ /^[a-z]+;?$/) {
            command = words[++i]
            sub(/;$/, "", command)
            print FILENAME ":" FNR, command, "-"
        } else if (command != "" && words[i] ~ /^--[a-z]/) {
            sub(/[=;].*/, "", words[i])
            print FILENAME ":" FNR, command, words[i]
        }
    }
}
FNR == 1 { inside = 0; held = "" }
/^(```|<!-- )sh/ { inside = 1; next }
/^(```|-->)/ { inside = 0; next }
!inside { next }
/\\$/ { held = held substr($0, 1, length($0) - 1) " "; next }
{ look(held $0); held = "" }
