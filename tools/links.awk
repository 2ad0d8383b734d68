# links.awk - every relative link and picture of Markdown pages, as lines `PAGE:LINE TARGET`, and the anchor of every heading, as
# lines `#PAGE ANCHOR`, for links.sh. Code is passed over. Anchors are made as GitHub makes them: lower case, no punctuation, - for blanks.
function anchor(heading,    s) {
    s = tolower(heading)
    gsub(/`/, "", s)
    gsub(/\]\([^)]*\)/, "", s)
    gsub(/[^a-z0-9 _-]/, "", s)
    gsub(/ /, "-", s)
    return s
}
FNR == 1 { code = 0 }
/^```/ { code = !code; next }
/^<!-- sh$/ { code = 1; next }
/^-->$/ { code = 0; next }
code || /^    / { next }
/^#+ / {
    heading = $0
    sub(/^#+ /, "", heading)
    name = anchor(heading)
    times = seen[FILENAME, name]++
    print "#" FILENAME, times ? name "-" times : name
}
{
    line = $0
    gsub(/`[^`]*`/, "", line)
    while (match(line, /\]\([^)]*\)/)) {
        target = substr(line, RSTART + 2, RLENGTH - 3)
        if (target !~ /^[a-z]+:/) print FILENAME ":" FNR, target
        line = substr(line, RSTART + RLENGTH)
    }
}
