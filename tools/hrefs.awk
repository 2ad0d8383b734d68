# hrefs.awk - of rendered pages, every relative link and picture as lines `PAGE TARGET` and every id as lines `#PAGE ID`, for render.sh.
{
    line = $0
    while (match(line, /(href|src|id)="[^"]*"/)) {
        word = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        value = word
        sub(/^[a-z]+="/, "", value)
        sub(/"$/, "", value)
        gsub(/&amp;/, "\\&", value)
        if (word ~ /^id=/) print "#" FILENAME, value
        else if (value !~ /^[a-z]+:/) print FILENAME, value
    }
}
