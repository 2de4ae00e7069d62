/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/tls_pin.h"

#include <gnutls/x509.h>

static void crt_freep(gnutls_x509_crt_t *crt)
{
	gnutls_x509_crt_deinit(*crt);
}

int tls_pin(const char *pem, char ret[PIN_LEN + 1], struct err *reterr)
{
	const gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem, (unsigned int)strlen(pem)};
	gnutls_x509_crt_t crt CLEANUP(crt_freep) = NULL;
	unsigned char digest[SHA256_LEN];
	size_t len = sizeof(digest);
	int rc = gnutls_x509_crt_init(&crt);

	if (rc == GNUTLS_E_SUCCESS)
		rc = gnutls_x509_crt_import(crt, &text, GNUTLS_X509_FMT_PEM);
	/* GnuTLS' key id is the digest of the SubjectPublicKeyInfo, as RFC 7469 pins are. */
	if (rc == GNUTLS_E_SUCCESS)
		rc = gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA256, digest, &len);
	if (rc != GNUTLS_E_SUCCESS)
		return err_set(reterr, ERR_INVALID, "the TLS certificate cannot be read: %s",
			       gnutls_strerror(rc));
	pin_of_digest(digest, ret);
	return 0;
}
