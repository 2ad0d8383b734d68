# embed.cmake - the page's files as arrays in one C file: cmake -DOUT=page.c -DFOLDER=src/serve/page -P embed.cmake. Needs
# nothing but CMake itself.
set(files index.html app.js style.css icon.svg)
set(paths / /app.js /style.css /icon.svg)
set(types "text/html" "text/javascript" "text/css" "image/svg+xml")
set(arrays "")
set(table "")
foreach(file path type IN ZIP_LISTS files paths types)
    file(READ ${FOLDER}/${file} hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REPEAT "0x..," 24 row)
    string(REGEX REPLACE "(${row})" "\\1\n    " bytes "${bytes}")
    string(MAKE_C_IDENTIFIER ${file} name)
    string(APPEND arrays "static const unsigned char ${name}[] = {\n    ${bytes}\n};\n")
    string(APPEND table "    {\"${path}\", \"${type}; charset=utf-8\", ${name}, sizeof ${name}},\n")
endforeach()
file(WRITE ${OUT} "/* page.c - written by embed.cmake from src/serve/page */\n#include \"serve/page.h\"\n"
    "${arrays}const struct page_file page_files[] = {\n${table}    {0}};\n")
