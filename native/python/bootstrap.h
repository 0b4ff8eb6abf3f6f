/* What Python runs first; handlers.c and embedded.c include it. */
#ifndef GS_PYTHON_BOOTSTRAP_H
#define GS_PYTHON_BOOTSTRAP_H

/* Imports the Python half from beside this library, wherever the process's own sys.path points. */
static const char START[] =
    "def _groundstate_start(library, root, site, isolated):\n"
    "    import os, sys\n"
    "    package = os.path.join(root, 'groundstate')\n"
    "    if isolated:\n"
    "        path, scope = os.path.join(package, 'driver', 'isolated.py'), {'__name__': 'isolated'}\n"
    "        with open(path, encoding='utf-8') as file:\n"
    "            exec(compile(file.read(), path, 'exec'), scope)\n"
    "        scope['prepare']()\n"
    "    import importlib, importlib.util\n"
    "    loaded = sys.modules.get('groundstate')\n"
    "    if loaded is None:\n"
    "        spec = importlib.util.spec_from_file_location(\n"
    "            'groundstate', os.path.join(package, '__init__.py'), submodule_search_locations=[package])\n"
    "        loaded = importlib.util.module_from_spec(spec)\n"
    "        sys.modules['groundstate'] = loaded\n"
    "        try:\n"
    "            spec.loader.exec_module(loaded)\n"
    "        except BaseException:\n"
    "            del sys.modules['groundstate']\n"
    "            raise\n"
    "    elif os.path.realpath(os.path.dirname(loaded.__file__)) != os.path.realpath(package):\n"
    "        raise ImportError(f'this process has loaded groundstate from {loaded.__file__}, but the driver '\n"
    "                          f'library is {library}: use the library of that installation')\n"
    "    if site and site not in sys.path:\n"
    "        sys.path.append(site)\n"
    "    return importlib.import_module('groundstate.driver.entry').start(library)\n";

/* Imports the Python half of another library of this package: see embedded.h. */
static const char IMPORT_MODULE[] =
    "def _groundstate_start(module, library):\n"
    "    import importlib\n"
    "    return importlib.import_module(module).start(library)\n";

#endif
