// Left out: the page of /docs loads swagger-ui-bundle.js alone.
