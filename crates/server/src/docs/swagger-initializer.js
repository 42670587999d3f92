window.onload = () => {
  window.ui = SwaggerUIBundle({
    "url": "/openapi.json",
    "dom_id": "#swagger-ui",
    "deepLinking": true,
    // Unless it is told otherwise the page sends the description to a validator elsewhere.
    "validatorUrl": "none",
    "layout": "StandaloneLayout",
    "presets": [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    "plugins": [SwaggerUIBundle.plugins.DownloadUrl]
  });
};
