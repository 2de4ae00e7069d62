# Interface targets that every target of ours links: `rigstat_flags`.
add_library(rigstat_flags INTERFACE)
target_include_directories(rigstat_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_definitions(rigstat_flags INTERFACE _GNU_SOURCE
  RIGSTAT_VERSION="${PROJECT_VERSION}")
target_compile_options(rigstat_flags INTERFACE
  -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2
  -Wpointer-arith -Wwrite-strings -Wvla -fno-common -fstack-protector-strong
  $<$<BOOL:${RIGSTAT_WERROR}>:-Werror>)
if(RIGSTAT_SANITIZE)
  target_compile_options(rigstat_flags INTERFACE
    -fsanitize=${RIGSTAT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(rigstat_flags INTERFACE -fsanitize=${RIGSTAT_SANITIZE})
endif()
