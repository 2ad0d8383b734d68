# book.awk - a page of the book as a shell script, for book.sh; -v page=NAME, -v files=FOLDER for what blocks are expected to print.
#
#     ```sh               run in the page's shell; every command must end with 0
#     ```sh status 2      run in a shell of its own, which must end with 2
#     ```sh python        run where there is a python3 with NumPy
#     ```sh serve         every line starts a server, which must give its address and end with 130 on SIGTERM
#     ```sh build         not run: it builds or installs the program, which was done before the book is read
#     ```sh data          not run: it needs pictures or weights that do not come with the program
#     ```text output      what the block before it prints; numbers may differ, "..." stands for any lines
#     ```LANG FILE.NAME   is saved under that name
#     <!-- sh             up to --> : run like ```sh, but readers of the rendered page do not see it
#
# ```text shows something; ```c is compiled by docs.sh. Everything else is refused, so that no command stays unread.
function quoted(s) { gsub(/'/, "'\\''", s); return "'" s "'" }
function refuse(why) { printf "echo %s >&2; exit 1\n", quoted(page ":" FNR ": " why) }
function open_block(kind, word) {
    mode = kind
    printf "at %s\n", quoted(page ":" FNR)
    if (kind == "run") print "{"
    else if (kind == "status") { wanted = word; print "(" }
    else if (kind == "python") print "if has_python; then {"
}
function close_block() {
    if (mode == "run") print "} > \"$book/out\" 2> \"$book/err\"\npassed"
    else if (mode == "status") printf ") > \"$book/out\" 2> \"$book/err\" && got=0 || got=$?\nended %d\n", wanted
    else if (mode == "python") print "} > \"$book/out\" 2> \"$book/err\"; passed; else skipped; fi"
    else if (mode == "expect") { close(expected); printf "prints %s\n", quoted(expected) }
    else if (mode == "file") { print end_of_file; print "passed" }
    mode = ""
}
function begin(language, word, more) {
    if (language == "sh" && word == "") open_block("run")
    else if (language == "sh" && word == "status" && more ~ /^[0-9]+$/) open_block("status", more)
    else if (language == "sh" && word == "python") open_block("python")
    else if (language == "sh" && word == "serve") open_block("serve")
    else if (language == "sh" && (word == "build" || word == "data")) mode = "leave"
    else if (language == "text" && word == "output") {
        mode = "expect"
        expected = sprintf("%s/expected-%d", files, ++count)
        printf "" > expected
        printf "at %s\n", quoted(page ":" FNR)
    } else if (word ~ /^[A-Za-z0-9_-]+\.[a-z]+$/) {
        mode = "file"
        end_of_file = "END-OF-" word
        printf "at %s\ncat > %s << '%s'\n", quoted(page ":" FNR), word, end_of_file
    } else if ((language == "text" || language == "c") && word == "") mode = "leave"
    else refuse("a code block is marked '" $0 "', which book.awk does not know")
}
mode == "" && /^```/ { line = $0; sub(/^```/, "", line); n = split(line, words, /[ \t]+/); begin(words[1], words[2], words[3]); next }
mode == "" && /^<!-- sh$/ { open_block("run"); hidden = 1; next }
mode != "" && (hidden ? /^-->$/ : /^```$/) { close_block(); hidden = 0; next }
mode == "expect" { print > expected; next }
mode == "serve" { if ($0 ~ /[^ \t]/) print "served " $0; next }
mode != "" && mode != "leave" { print }
END { if (mode != "") refuse("a code block has no end") }
