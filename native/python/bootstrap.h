/* What Python runs first; handlers.c and embedded.c include it. */
#ifndef GS_PYTHON_BOOTSTRAP_H
#define GS_PYTHON_BOOTSTRAP_H

/* Imports the Python half from beside this library, wherever the process's own sys.path points. An interpreter of the driver's
 * own has no `site` yet, which takes as long to run as half of the driver: it runs when something is not found without. */
static const char START[] =
    "def _groundstate_start(library, root, site, kind):\n"
    "    import sys\n"
    "    package, scope = root + '/groundstate', {'__name__': 'beginning'}\n"
    "    if kind != 'shared':\n"
    "        for name in ['late_site'] + ['isolated'] * (kind == 'isolated'):\n"
    "            path = f'{package}/driver/{name}.py'\n"
    "            with open(path, encoding='utf-8') as file:\n"
    "                exec(compile(file.read(), path, 'exec'), scope)\n"
    "            scope['prepare']()\n"
    "    loaded = sys.modules.get('groundstate')\n"
    "    if loaded is None:\n"
    "        sys.path.insert(0, root)\n"
    "        try:\n"
    "            import groundstate\n"
    "        finally:\n"
    "            sys.path.remove(root)\n"
    "    else:\n"
    "        import os\n"
    "        if os.path.realpath(os.path.dirname(loaded.__file__)) != os.path.realpath(package):\n"
    "            raise ImportError(f'this process has loaded groundstate from {loaded.__file__}, but the driver '\n"
    "                              f'library is {library}: use the library of that installation')\n"
    "    if site and site not in sys.path:\n"
    "        sys.path.append(site)\n"
    "    import importlib\n"
    "    return importlib.import_module('groundstate.driver.entry').start(library)\n";

/* Imports the Python half of another library of this package: see embedded.h. */
static const char IMPORT_MODULE[] =
    "def _groundstate_start(module, library):\n"
    "    import importlib\n"
    "    return importlib.import_module(module).start(library)\n";

#endif
