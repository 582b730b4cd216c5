# In the Debian package the configuration is in /etc, not in /usr/etc.
if(CPACK_GENERATOR STREQUAL DEB)
  file(RENAME ${CPACK_TEMPORARY_DIRECTORY}/usr/etc ${CPACK_TEMPORARY_DIRECTORY}/etc)
endif()
