# What makes a mistake in the sources hard to use against their user. tools/hardening.sh reads the built files and fails
# where one of these is missing; SECURITY.md says what they are for.
include(CheckCSourceCompiles)
include(CheckPIESupported)
check_pie_supported(OUTPUT_VARIABLE pie_output LANGUAGES C)

set(hardening_flags -fstack-protector-strong)
foreach(flag -fstack-clash-protection -fcf-protection=full)
    string(MAKE_C_IDENTIFIER "CENTRA_COMPILER${flag}" known)
    check_c_compiler_flag("-Werror ${flag}" ${known})
    if(${known})
        list(APPEND hardening_flags ${flag})
    endif()
endforeach()

# Checked copies need an optimiser, and the sanitizers bring their own. -U: a distribution's compiler may have set it already.
set(fortify_level 3)
check_c_source_compiles("#include <features.h>
#if !__GLIBC_PREREQ(2, 35) || (!defined(__clang__) && __GNUC__ < 12)
#error the third level came with these
#endif
int main(void) { return 0; }" CENTRA_FORTIFY_3)
if(NOT CENTRA_FORTIFY_3)
    set(fortify_level 2)
endif()

target_compile_options(centra-flags INTERFACE ${hardening_flags})
if(NOT CENTRA_SANITIZE)
    target_compile_options(centra-flags INTERFACE
        "$<$<NOT:$<CONFIG:Debug>>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${fortify_level}>")
endif()
target_link_options(centra-flags INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
