#!/usr/bin/env python3
"""The VS Code extension as a package: tools/vsix.py FOLDER writes FOLDER/minifut-sf-VERSION.vsix of editors/vscode and says its name.

A .vsix is a zip file with the extension in `extension/`, a manifest that marketplaces and VS Code read, and the types of its files. The same
files give the same bytes, whatever packs them: nothing is compressed."""
import json
import os
import sys
import zipfile
from xml.sax.saxutils import escape, quoteattr

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = f'{ROOT}/editors/vscode'
TYPES = {'.json': 'application/json', '.js': 'application/javascript', '.md': 'text/markdown', '.txt': 'text/plain',
         '.vsixmanifest': 'text/xml'}
RENAMED = {'README.md': 'readme.md'}  # as marketplaces expect it
CODE = 'Microsoft.VisualStudio.Code.'


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def files():
    """What goes into the package: names within `extension/` and their bytes."""
    found = {'LICENSE.txt': read(f'{ROOT}/LICENSE')}
    for folder, _, names in os.walk(SOURCE):
        for name in names:
            path = os.path.relpath(f'{folder}/{name}', SOURCE)
            if not path.startswith('.'):
                found[RENAMED.get(path, path)] = read(f'{folder}/{name}')
    return found


def content_types(names):
    endings = sorted({os.path.splitext(name)[1] for name in names})
    lines = ''.join(f'<Default Extension="{e}" ContentType="{TYPES[e]}"/>' for e in endings)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{lines}</Types>\n'


def manifest(package):
    """The fields that VS Code and marketplaces read, from package.json."""
    languages = [tag for one in package['contributes']['languages'] for tag in one['aliases'] + [f'__ext_{e[1:]}' for e in one['extensions']]]
    tags = dict.fromkeys(package['keywords'] + languages)
    properties = {CODE + 'Engine': package['engines']['vscode'], CODE + 'ExtensionDependencies': '', CODE + 'ExtensionPack': '',
                  CODE + 'ExtensionKind': ','.join(package['extensionKind']), CODE + 'LocalizedLanguages': '', CODE + 'EnabledApiProposals': '',
                  CODE + 'ExecutesCode': 'true', 'Microsoft.VisualStudio.Services.GitHubFlavoredMarkdown': 'true',
                  'Microsoft.VisualStudio.Services.Content.Pricing': 'Free'}
    assets = {CODE + 'Manifest': 'package.json', 'Microsoft.VisualStudio.Services.Content.Details': 'readme.md',
              'Microsoft.VisualStudio.Services.Content.License': 'LICENSE.txt'}
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011"'
        ' xmlns:d="http://schemas.microsoft.com/developer/vsx-schema-design/2011">',
        '  <Metadata>',
        f'    <Identity Language="en-US" Id={quoteattr(package["name"])} Version={quoteattr(package["version"])}'
        f' Publisher={quoteattr(package["publisher"])}/>',
        f'    <DisplayName>{escape(package["displayName"])}</DisplayName>',
        f'    <Description xml:space="preserve">{escape(package["description"])}</Description>',
        f'    <Tags>{escape(",".join(tags))}</Tags>',
        f'    <Categories>{escape(",".join(package["categories"]))}</Categories>',
        '    <GalleryFlags>Public</GalleryFlags>',
        '    <Properties>',
        *(f'      <Property Id="{key}" Value={quoteattr(value)}/>' for key, value in properties.items()),
        '    </Properties>',
        '    <License>extension/LICENSE.txt</License>',
        '  </Metadata>',
        '  <Installation>',
        '    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>',
        '  </Installation>',
        '  <Dependencies/>',
        '  <Assets>',
        *(f'    <Asset Type="{kind}" Path="extension/{path}" Addressable="true"/>' for kind, path in assets.items()),
        '  </Assets>',
        '</PackageManifest>']
    return '\n'.join(lines) + '\n'


def main():
    folder = sys.argv[1]
    package = json.loads(read(f'{SOURCE}/package.json'))
    version = read(f'{ROOT}/VERSION').decode().strip()
    if package['version'] != version:
        sys.exit(f'editors/vscode/package.json has version {package["version"]}, not {version}')
    inside = {f'extension/{name}': data for name, data in sorted(files().items())}
    parts = {'extension.vsixmanifest': manifest(package).encode(),
             '[Content_Types].xml': content_types([*inside, 'extension.vsixmanifest']).encode(), **inside}
    os.makedirs(folder, exist_ok=True)
    path = f'{folder}/{package["name"]}-{version}.vsix'
    with zipfile.ZipFile(path + '.tmp', 'w') as out:
        for name, data in parts.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            out.writestr(entry, data)
    os.replace(path + '.tmp', path)
    print(path)


main()
