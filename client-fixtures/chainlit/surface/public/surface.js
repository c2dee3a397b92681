window.surfaceScript = "was here";
