# anchor.awk - the anchor of a heading of a page, as GitHub makes them: lower case, no punctuation, - for blanks, a number behind
# one that was there before.
function anchor(heading, page,    s, times) {
    s = tolower(heading)
    gsub(/\]\([^)]*\)/, "", s)
    gsub(/[^a-z0-9 _-]/, "", s)
    gsub(/ /, "-", s)
    times = seen_anchor[page, s]++
    return times ? s "-" times : s
}
