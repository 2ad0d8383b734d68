# links.awk - every relative link and picture of Markdown pages, as lines `PAGE:LINE TARGET`, and the anchor of every heading, as
# lines `#PAGE ANCHOR`, for links.sh. Code is passed over. Needs anchor.awk.
FNR == 1 { code = 0 }
/^```/ { code = !code; next }
/^<!-- sh$/ { code = 1; next }
/^-->$/ { code = 0; next }
code || /^    / { next }
/^#+ / {
    heading = $0
    sub(/^#+ /, "", heading)
    print "#" FILENAME, anchor(heading, FILENAME)
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
