# rigstat_embed(TARGET SYMBOL FILE): puts FILE into TARGET's read-only data as
#   extern const unsigned char SYMBOL[]; extern const unsigned long long SYMBOL_len;
# A trailing zero byte follows the data, so text can be used as a C string.
function(rigstat_embed target symbol file)
  set(EMBED_SYMBOL ${symbol})
  set(EMBED_FILE ${file})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embed_${symbol}.S)
  configure_file(${CMAKE_SOURCE_DIR}/common/cmake/embed.S.in ${out} @ONLY)
  set_source_files_properties(${out} PROPERTIES OBJECT_DEPENDS ${file})
  target_sources(${target} PRIVATE ${out})
endfunction()
